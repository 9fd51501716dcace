"""Tables, plots and README numbers, all drawn from the results files and from nothing else."""
