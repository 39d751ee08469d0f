const clearLine = '\r\u001b[K'

type Output = {
  readonly isTTY?: boolean
  readonly columns?: number
  readonly write: (text: string) => unknown
}

export type Progress = {
  /** Says what the step waits for, which is shown beside its name. */
  readonly describe: (state: string) => void
  /** Has something shown before each line of progress. */
  readonly beforeLine: (show: () => void) => void
}

/**
 * Shows each step with its seconds. A terminal has one line that is written again each second; elsewhere a step that takes
 * long writes a line from time to time.
 */
export const makeSteps =
  (output: Output, { everyMs = output.isTTY ? 1_000 : 10_000 } = {}) =>
  async <T>(name: string, work: (progress: Progress) => Promise<T>): Promise<T> => {
    const startedAt = performance.now()
    let state = ''
    let beforeLine: (() => void) | undefined
    const live = output.isTTY === true
    const clear = () => live && output.write(clearLine)
    const show = () => {
      const seconds = Math.round((performance.now() - startedAt) / 1_000)
      const line = `  … ${name} (${seconds} s${state && `, ${state}`})`
      output.write(live ? line.slice(0, (output.columns ?? 80) - 1) : `${line}\n`)
    }
    if (live) output.write(`  … ${name}`)
    const timer = setInterval(() => {
      clear()
      beforeLine?.()
      show()
    }, everyMs)
    try {
      const result = await work({
        describe: (text) => (state = text),
        beforeLine: (showFirst) => (beforeLine = showFirst),
      })
      clear()
      output.write(`  ✓ ${name} (${((performance.now() - startedAt) / 1_000).toFixed(1)} s)\n`)
      return result
    } catch (error) {
      clear()
      output.write(`  ✗ ${name} (${((performance.now() - startedAt) / 1_000).toFixed(1)} s)\n`)
      throw error
    } finally {
      clearInterval(timer)
    }
  }
