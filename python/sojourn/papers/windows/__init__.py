"""Papers whose data are windows of so many packets, measured at one queue in simulation and on the device."""
