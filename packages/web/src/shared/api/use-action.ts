import { useState } from 'preact/hooks'
import { troubleOf, type Trouble } from './client.ts'

export type Acting = {
  readonly busy: boolean
  /** What came of the last act, in words; empty while there is nothing to tell. */
  readonly said: string
  readonly trouble: Trouble | undefined
  /** Does one thing and tells how it went. True if it was done. */
  readonly act: (words: string, work: () => Promise<unknown>) => Promise<boolean>
}

/** Doing something that the service may refuse: one thing at a time, and its outcome in words. */
export const useAct = (onDone: () => void): Acting => {
  const [busy, setBusy] = useState(false)
  const [said, setSaid] = useState('')
  const [trouble, setTrouble] = useState<Trouble>()
  const act = async (words: string, work: () => Promise<unknown>): Promise<boolean> => {
    setBusy(true)
    setTrouble(undefined)
    setSaid('')
    try {
      await work()
      setSaid(words)
      return true
    } catch (error) {
      setTrouble(troubleOf(error))
      return false
    } finally {
      setBusy(false)
      // Also after a refusal: somebody else may have been faster, and then what is shown is old.
      onDone()
    }
  }
  return { busy, said, trouble, act }
}
