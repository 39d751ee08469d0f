/** What one check found. A warning is a choice that a deployment can make; a problem must be fixed. */
export type Finding = {
  readonly check: string
  readonly level: 'ok' | 'warning' | 'problem'
  readonly note: string
  readonly fix: string | null
}

export const ok = (check: string, note: string): Finding => ({ check, level: 'ok', note, fix: null })
export const warning = (check: string, note: string, fix: string): Finding => ({
  check,
  level: 'warning',
  note,
  fix,
})
export const problem = (check: string, note: string, fix: string): Finding => ({
  check,
  level: 'problem',
  note,
  fix,
})

/** The machine as the checks see it; tests plant faults here that they cannot make otherwise. */
export type Machine = {
  readonly now: () => number
  /** Free bytes of the file system that holds a folder. */
  readonly freeBytes: (folder: string) => number
}
