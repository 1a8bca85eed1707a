"""What runs gave: tables of metrics, estimates, notices and files of them."""
