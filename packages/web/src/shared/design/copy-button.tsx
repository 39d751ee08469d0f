import { useCopy } from './use-copy.ts'

const titles = { idle: 'Copy', copied: 'Copied', refused: 'Not copied: select the text' } as const

/** A button that copies what stands beside it. */
export const CopyButton = ({ text, label }: { text: string; label: string }) => {
  const { state, copy } = useCopy(text)
  return (
    <>
      <button type="button" class="btn" onClick={copy}>
        {titles[state]}
        {state === 'refused' ? null : <span class="hidden"> {label}</span>}
      </button>
      <span class="hidden" role="status">
        {state === 'idle' ? '' : titles[state]}
      </span>
    </>
  )
}
