import { useState } from 'preact/hooks'

export type CopyState = 'idle' | 'copied' | 'refused'

/**
 * Puts a text on the clipboard and tells what came of it. A page without a secure context has no clipboard, and a browser may
 * refuse to write to it.
 */
export const useCopy = (text: string): { readonly state: CopyState; readonly copy: () => void } => {
  const [state, setState] = useState<CopyState>('idle')
  const write = async (): Promise<CopyState> => {
    try {
      await navigator.clipboard.writeText(text)
      return 'copied'
    } catch {
      return 'refused'
    }
  }
  const copy = async (): Promise<void> => {
    const outcome = await write()
    setState(outcome)
    // Who has to select the text by hand needs time to read that.
    setTimeout(() => setState('idle'), outcome === 'copied' ? 1_500 : 5_000)
  }
  return { state, copy: () => void copy() }
}
