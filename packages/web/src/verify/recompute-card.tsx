import type { Claims } from '@pohf/verify'
import { useState } from 'preact/hooks'
import { CheckList } from '../shared/credential/check-list.tsx'
import type { CheckLine } from '../shared/credential/outcome.ts'
import { recomputeText } from './recompute.ts'

/** Far above the longest recording there is; a larger file is not one. */
const bytesMax = 16_000_000

const RecordingForm = (props: {
  text: string
  busy: boolean
  onText: (text: string) => void
  onFile: (file: File | undefined) => void
  onSubmit: () => void
}) => (
  <form
    class="paste"
    onSubmit={(event) => {
      event.preventDefault()
      props.onSubmit()
    }}
  >
    <label for="recording">Opened session</label>
    <textarea
      id="recording"
      rows={3}
      maxLength={bytesMax}
      spellcheck={false}
      autocomplete="off"
      autocapitalize="off"
      placeholder='{"sessionId":"ses_…","telemetry":{…},"opening":{…},"chunks":[…]}'
      value={props.text}
      onInput={(event) => props.onText(event.currentTarget.value)}
    />
    <label for="recording-file">or its file</label>
    <input
      id="recording-file"
      type="file"
      accept="application/json,.json"
      onChange={(event) => props.onFile(event.currentTarget.files?.[0])}
    />
    <p>
      <button class="btn" type="submit" disabled={props.busy}>
        Score it again
      </button>
    </p>
  </form>
)

/** Scores an opened recording again in the browser, with the service's own scorer. */
export const RecomputeCard = ({ claims }: { claims: Claims }) => {
  const [text, setText] = useState('')
  const [lines, setLines] = useState<readonly CheckLine[]>([])
  const [busy, setBusy] = useState(false)
  const run = async (recordingText: string) => {
    if (recordingText.trim() === '') return
    setBusy(true)
    try {
      setLines(await recomputeText(recordingText, claims))
    } catch (error) {
      setLines([{ sign: '✗', text: error instanceof Error ? error.message : String(error) }])
    } finally {
      setBusy(false)
    }
  }
  const readFile = async (file: File | undefined) => {
    if (!file) return
    if (file.size > bytesMax)
      return setLines([{ sign: '✗', text: 'This file is too large for a recording.' }])
    const content = await file.text()
    setText(content)
    await run(content)
  }
  return (
    <section
      class="card pad wide"
      aria-labelledby="again"
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault()
        void readFile(event.dataTransfer?.files[0])
      }}
    >
      <h2 class="h3" id="again">
        Score it again
      </h2>
      <p class="muted gap">
        If you have the opened recording of this session, drop its file here or paste it. This page checks it
        against the credential and scores it by the same rules. It is not sent anywhere.
      </p>
      <RecordingForm
        text={text}
        busy={busy}
        onText={setText}
        onFile={(file) => void readFile(file)}
        onSubmit={() => void run(text)}
      />
      <div role="status" aria-busy={busy} id="recomputed">
        {lines.length === 0 ? null : <CheckList lines={lines} />}
      </div>
    </section>
  )
}
