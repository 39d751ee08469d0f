import { openChunk, type OpenChunkResult, type SealedChunk } from '@pohf/verify'
import { readChunk } from '@pohf/protocol/telemetry'
import { useState } from 'preact/hooks'
import type { OpenedSession } from './open.ts'

type AuditResult = { readonly seq: number; readonly changed: boolean; readonly result: OpenChunkResult }

const bytesOf = ({ ciphertext }: SealedChunk): number => Math.floor((ciphertext.length * 3) / 4)
/** The same chunk with one of its letters another. */
const tamperedChunk = (chunk: SealedChunk): SealedChunk => {
  const middle = Math.floor(chunk.ciphertext.length / 2)
  const other = chunk.ciphertext[middle] === 'A' ? 'B' : 'A'
  return {
    ...chunk,
    ciphertext: chunk.ciphertext.slice(0, middle) + other + chunk.ciphertext.slice(middle + 1),
  }
}
const pretty = (chunk: string): string => {
  const { ev, ...rest } = JSON.parse(chunk) as { ev: unknown[] }
  return `${JSON.stringify(rest)}\n${ev.map((event) => JSON.stringify(event)).join('\n')}`
}

const Finding = ({ good, children }: { good: boolean; children: string }) => (
  <li class={good ? 'yes' : 'bad'}>
    <span class="sign" aria-hidden="true">
      {good ? '✓' : '✕'}
    </span>
    <span>
      <span class="hidden">{good ? 'Holds: ' : 'Does not hold: '}</span>
      {children}
    </span>
  </li>
)

const Result = ({ seq, changed, result }: AuditResult) => (
  <div class="opened" role="status">
    <h3>
      Chunk {seq}
      {changed ? ', with one letter changed' : ''}
    </h3>
    <ul class="checks">
      {result.ok ? (
        <>
          <Finding good>It stands at this place under the committed root.</Finding>
          <Finding good>Its own key opens it; no other chunk was opened for that.</Finding>
          <Finding good>The key of your page signed it, after the chunks before it.</Finding>
        </>
      ) : (
        <Finding good={false}>{result.message}</Finding>
      )}
    </ul>
    {result.ok && <pre tabIndex={0}>{pretty(result.record.chunk)}</pre>}
  </div>
)

const ChunkTable = (props: { opened: OpenedSession; onOpen: (chunk: SealedChunk) => void }) => {
  const { recording, verification } = props.opened
  const records = verification.ok ? verification.records : []
  return (
    <table class="gap">
      <thead>
        <tr>
          <th scope="col">Chunk</th>
          <th scope="col" class="num">
            Seconds
          </th>
          <th scope="col" class="num">
            Events
          </th>
          <th scope="col" class="num bytes">
            Bytes
          </th>
          <th scope="col">
            <span class="hidden">Check</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {recording.chunks.map((chunk, index) => {
          const read = readChunk(records[index]?.chunk ?? '')
          return (
            <tr key={chunk.seq}>
              <td>{chunk.seq}</td>
              <td class="num">{((read?.t1 ?? 0) / 1_000).toFixed(1)}</td>
              <td class="num">{read?.events.length ?? 0}</td>
              <td class="num bytes">{bytesOf(chunk).toLocaleString('en')}</td>
              <td class="num">
                <button type="button" class="btn" onClick={() => props.onOpen(chunk)}>
                  Open<span class="hidden"> chunk {chunk.seq}</span>
                </button>
              </td>
            </tr>
          )
        })}
      </tbody>
    </table>
  )
}

/** The view of an auditor: verifies single chunks against the root, in the browser. */
export const Audit = ({ opened }: { opened: OpenedSession }) => {
  const [shown, setShown] = useState<AuditResult>()
  const { telemetry, chunks } = opened.recording
  const open = async (chunk: SealedChunk, changed: boolean) =>
    setShown({
      seq: chunk.seq,
      changed,
      result: await openChunk(telemetry, changed ? tamperedChunk(chunk) : chunk),
    })
  return (
    <section class="card pad audit" aria-labelledby="audit">
      <h2 class="h3" id="audit">
        As an auditor sees it
      </h2>
      <p class="muted gap">
        Your browser opened {chunks.length} chunks and checked them: each was signed by a key of your page
        that nobody can copy, after the one before it, and the chain ends where the service has committed to.
        One chunk can be shown without the others.
      </p>
      <dl class="facts">
        <div>
          <dt>Root of {telemetry.n} chunks</dt>
          <dd class="id">{telemetry.root}</dd>
        </div>
        <div>
          <dt>Last link</dt>
          <dd class="id">{telemetry.link}</dd>
        </div>
      </dl>
      <ChunkTable opened={opened} onOpen={(chunk) => void open(chunk, false)} />
      {shown && <Result {...shown} />}
      {shown && !shown.changed && (
        <p class="gap">
          <button
            type="button"
            class="btn"
            onClick={() => {
              const chunk = chunks[shown.seq - 1]
              if (chunk) void open(chunk, true)
            }}
          >
            Change one letter and check again
          </button>
        </p>
      )}
    </section>
  )
}
