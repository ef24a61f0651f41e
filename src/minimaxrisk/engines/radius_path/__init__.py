"""R* for many radii: follow the vertex from one to the next, and bound R* between them."""
