"""Many instances and few features: programs on some instances, certified on all of them."""
