import { emptyList, type ReaderList } from '@pohf/protocol/statements'
import { useState } from 'preact/hooks'
import { charsMax, keepList, listText, loadList, readList } from './reader-list.ts'

/** The list of this browser, and how the page changes it. */
export const useReaderList = () => {
  const [kept, setKept] = useState(loadList)
  return {
    ...kept,
    keep: (list: ReaderList, message: string) => {
      const isKept = keepList(list)
      setKept({
        list,
        message: isKept
          ? message
          : `${message} This browser does not keep it: it is gone when the page closes.`,
      })
    },
  }
}
export type ReaderListState = ReturnType<typeof useReaderList>

const Entries = ({ title, entries }: { title: string; entries: readonly string[] }) =>
  entries.length === 0 ? null : (
    <>
      <h3 class="gap">{title}</h3>
      <ul class="listed">
        {entries.map((entry) => (
          <li key={entry}>
            <bdi class="id">{entry}</bdi>
          </li>
        ))}
      </ul>
    </>
  )

const countText = ({ trustedIssuers, pinnedAgents }: ReaderList): string => {
  const [issuers, agents] = [trustedIssuers.length, pinnedAgents.length]
  if (issuers + agents === 0) return 'You list nobody.'
  return `You list ${issuers} ${issuers === 1 ? 'issuer' : 'issuers'} and ${agents} ${agents === 1 ? 'agent' : 'agents'}.`
}

type FormProps = {
  readonly text: string
  readonly fault: string | undefined
  readonly onText: (text: string) => void
  readonly onFile: (file: File | undefined) => void
  readonly onSubmit: () => void
}
const ListForm = ({ text, fault, onText, onFile, onSubmit }: FormProps) => (
  <form
    class="paste"
    onSubmit={(event) => {
      event.preventDefault()
      onSubmit()
    }}
  >
    <label for="list">Policy file</label>
    <textarea
      id="list"
      rows={6}
      maxLength={charsMax}
      spellcheck={false}
      autocomplete="off"
      autocapitalize="off"
      aria-describedby="list-fault"
      aria-invalid={fault !== undefined}
      placeholder={'{\n  "trustedIssuers": ["https://login.example.com"],\n  "pinnedAgents": ["agt_…"]\n}'}
      value={text}
      onInput={(event) => onText(event.currentTarget.value)}
    />
    <p class="bad small" id="list-fault" role="alert">
      {fault}
    </p>
    <label for="list-file">Or open the file</label>
    <input
      id="list-file"
      type="file"
      accept=".json,application/json"
      onChange={(event) => onFile(event.currentTarget.files?.[0])}
    />
    <p>
      <button class="btn" type="submit">
        Keep this list
      </button>
    </p>
  </form>
)

/** Shows the reader's list, replaces it by a file or a text, and removes it. */
export const ListCard = ({ list, message, keep }: ReaderListState) => {
  const [text, setText] = useState(() => (countText(list) === countText(emptyList) ? '' : listText(list)))
  const [fault, setFault] = useState<string>()
  const take = (given: string) => {
    const read = readList(given)
    setFault(read.ok ? undefined : read.message)
    if (read.ok) keep(read.list, 'The list is kept in this browser.')
  }
  const open = async (file: File | undefined) => {
    if (!file) return
    if (file.size > charsMax) return setFault(`The file has more than ${charsMax} bytes.`)
    const given = await file.text()
    setText(given)
    take(given)
  }
  const hasEntries = list.trustedIssuers.length + list.pinnedAgents.length > 0
  return (
    <section class="card pad wide" aria-labelledby="your-list">
      <h2 class="h3" id="your-list">
        Whom you know
      </h2>
      <p class="muted gap">
        A company that vouches, and an agent whose owner enrolled its own approvers, are worth what you think
        of them: they are green only when you list them. The list stays in this browser and comes from no
        link.
      </p>
      <p class="gap" role="status">
        {countText(list)} {message}
      </p>
      <Entries title="Issuers" entries={list.trustedIssuers} />
      <Entries title="Agents" entries={list.pinnedAgents} />
      {hasEntries ? (
        <p class="gap">
          <button
            class="btn"
            type="button"
            onClick={() => {
              setText('')
              setFault(undefined)
              keep(emptyList, 'The list was removed.')
            }}
          >
            Remove the list
          </button>
        </p>
      ) : null}
      <details>
        <summary>{hasEntries ? 'Replace it' : 'Make a list'}</summary>
        <ListForm
          text={text}
          fault={fault}
          onText={setText}
          onFile={(file) => void open(file)}
          onSubmit={() => take(text)}
        />
      </details>
    </section>
  )
}
