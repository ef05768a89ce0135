"""What people read of a grading: the record of a submission, a student's page, the class on one page."""
