import { useCopy, type CopyState } from './use-copy.ts'

const shorten = (text: string): string => (text.length > 22 ? `${text.slice(0, 11)}…${text.slice(-6)}` : text)

/** Said to a screen reader; the whole text is in the title, for those who cannot copy it. */
const messageOf = (state: CopyState, label: string): string =>
  state === 'copied' ? `${label} copied` : state === 'refused' ? `${label} not copied` : ''

/** An id: shortened on the page, complete when copied. */
export const CopyId = ({ value, label }: { value: string; label: string }) => {
  const { state, copy } = useCopy(value)
  return (
    <>
      <button type="button" class="copy id" title={value} onClick={copy}>
        <span class="hidden">Copy {label}: </span>
        {state === 'idle' ? shorten(value) : state === 'copied' ? 'copied' : 'not copied'}
      </button>
      <span class="hidden" role="status">
        {messageOf(state, label)}
      </span>
    </>
  )
}
