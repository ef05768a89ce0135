"""What a submission may see, reach and use up."""
