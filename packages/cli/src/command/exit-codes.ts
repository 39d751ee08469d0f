/** The exit codes of every command; docs/reference/cli.md lists them. */
export const exitCodes = { done: 0, refused: 1, usage: 2, open: 3, charged: 4, unreachable: 5 } as const
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes]

export const exitCodeMeanings: ReadonlyMap<ExitCode, string> = new Map([
  [exitCodes.done, 'Done.'],
  [exitCodes.refused, 'Refused or failed, or a check found a problem. The output says which.'],
  [exitCodes.usage, 'Wrong call: an option, an argument, a file or a key is missing or not valid.'],
  [
    exitCodes.open,
    'A purchase or an approval is still open: read it later with `pohf buy --resume` or `pohf approve`.',
  ],
  [exitCodes.charged, 'A purchase was charged and its credential is not valid.'],
  [exitCodes.unreachable, 'The service does not answer. Nothing is known to have changed; try again.'],
])
