/** The middle value; of an even number the upper one. */
export const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN

/** The value that a share of all does not exceed, such as 0.99. */
export const quantile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(Math.floor(values.length * share), values.length - 1)] ?? NaN

export const rounded = (value: number, digits = 1): number => Number(value.toFixed(digits))
