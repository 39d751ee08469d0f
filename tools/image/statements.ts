/** The statements of this run that do not hold. */
export const failures: string[] = []

/** Prints a statement about the image and whether it holds. */
export const expect = (holds: boolean, statement: string): void => {
  console.log(`${holds ? '✓' : '✗'} ${statement}`)
  if (!holds) failures.push(statement)
}
