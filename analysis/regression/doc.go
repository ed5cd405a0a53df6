// Package regression finds how much longer or shorter than predicted each term of a time per token is, from measurements that only
// show the sum of the terms. It has no I/O: calibration reads the rows and keeps the result.
//
// The model is log(measured) = log(sum of scale * term) + what the run has in common + error. Scales are lognormal around 1 with a
// given spread (the prior), the run's part is normal, and errors follow Student's t with four degrees of freedom, so that a few
// wrong rows hardly count (Lange, Little and Taylor 1989).
//
// The most probable scales are found by Gauss-Newton steps on the logarithms, with rows reweighted after each step (iteratively
// reweighted least squares, the EM algorithm for t errors). The intervals are those of the normal approximation at the optimum
// (Laplace): the inverse of the weighted normal matrix is the covariance. The spread of the errors is estimated in the same loop,
// held near a prior by as many pseudo-measurements.
//
// identifiable.go then holds back scales that the measurements do not determine: a term whose uncertainty they hardly reduce,
// and terms that only move together.
package regression
