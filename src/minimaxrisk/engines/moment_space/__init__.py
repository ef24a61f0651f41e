"""An interior point whose one matrix is as large as the number of moments, and the exact vertex then."""
