import { useState } from 'preact/hooks'

const shorten = (text: string): string => (text.length > 22 ? `${text.slice(0, 11)}…${text.slice(-6)}` : text)

/** An id: shortened on the page, complete when copied. */
export const CopyId = ({ value, label }: { value: string; label: string }) => {
  const [copied, setCopied] = useState(false)
  const copy = async () => {
    // Without a secure context there is no clipboard; the whole text is in the title then.
    await navigator.clipboard?.writeText(value)
    setCopied(true)
    setTimeout(() => setCopied(false), 1_500)
  }
  return (
    <>
      <button type="button" class="copy id" title={value} onClick={() => void copy()}>
        <span class="hidden">Copy {label}: </span>
        {copied ? 'copied' : shorten(value)}
      </button>
      <span class="hidden" role="status">
        {copied ? `${label} copied` : ''}
      </span>
    </>
  )
}
