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
    setState(await write())
    setTimeout(() => setState('idle'), 1_500)
  }
  return { state, copy: () => void copy() }
}
