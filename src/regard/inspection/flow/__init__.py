"""What flows through a model: states by depth, the residual stream, gradients over distance."""
