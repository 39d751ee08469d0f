type Stream = { readonly isTTY?: boolean; readonly write: (text: string) => unknown }

const clearLine = '\r\u001b[K'
const stepMs = 1_000

/** Shows on a terminal that work goes on, from its first second on; the line is removed when it ends. */
export const withProgress = async <T>(
  text: string,
  work: () => Promise<T>,
  stream: Stream = process.stderr,
): Promise<T> => {
  if (!stream.isTTY) return work()
  const startedAt = performance.now()
  let isShown = false
  const timer = setInterval(() => {
    isShown = true
    stream.write(`${clearLine}… ${text} (${Math.round((performance.now() - startedAt) / 1_000)} s)`)
  }, stepMs)
  try {
    return await work()
  } finally {
    clearInterval(timer)
    if (isShown) stream.write(clearLine)
  }
}
