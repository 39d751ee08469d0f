const barWidth = 32

const formatRemaining = (seconds: number): string =>
  seconds < 60
    ? `${Math.ceil(seconds)} s left`
    : seconds < 5_400
      ? `${Math.ceil(seconds / 60)} min left`
      : `${(seconds / 3_600).toFixed(1)} h left`

/** One line that is written again; where there is no terminal, a line for each tenth. */
export const makeProgressBar = (total: number, output: NodeJS.WriteStream, unit = 'views') => {
  const startedAt = performance.now()
  let lastTenth = 0
  return (done: number): void => {
    const share = done / total
    const tenth = Math.floor(share * 10)
    if (!output.isTTY && tenth === lastTenth) return
    lastTenth = tenth
    const filled = Math.round(share * barWidth)
    const bar = `${'█'.repeat(filled)}${'░'.repeat(barWidth - filled)}`
    const rate = done / ((performance.now() - startedAt) / 1_000)
    const figures = `${done.toLocaleString('en')} ${unit}, ${Math.round(rate).toLocaleString('en')}/s`
    const remaining = done < total ? `, ${formatRemaining((total - done) / rate)}` : ''
    const line = `${bar} ${(share * 100).toFixed(0).padStart(3)}%  ${figures}${remaining}`
    output.write(output.isTTY ? `\r\u001b[K${line}` : `${line}\n`)
  }
}
