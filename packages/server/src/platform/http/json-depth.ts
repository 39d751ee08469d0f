/** Levels of arrays and objects in a body: twice the 16 that a field of any JSON may have. */
export const nestingMax = 32

const [quote, backslash, openArray, openObject, closeArray, closeObject] = Buffer.from('"\\[{]}')

/** Whether JSON text nests arrays and objects deeper than `nestingMax`. It reads the text once, without recursion. */
export const isNestedTooDeep = (text: string): boolean => {
  let depth = 0
  let inString = false
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (inString) {
      if (code === backslash) at += 1
      else if (code === quote) inString = false
    } else if (code === quote) inString = true
    else if (code === openArray || code === openObject) {
      depth += 1
      if (depth > nestingMax) return true
    } else if (code === closeArray || code === closeObject) depth -= 1
  }
  return false
}
