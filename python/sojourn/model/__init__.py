"""What is simulated: networks, traffic, schemes, and what comes with the package of them."""
