import { visibleText, type ApprovalView, type ShownField } from '@pohf/verify/approvals'
import { Fragment } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { fillPlaceholders } from '../../shared/design/fill-placeholders.ts'
import type { Messages } from '../messages.ts'
import { isCode, isHeadline, isLong, partsOf } from './rules.ts'

/**
 * Text as it was sent, with a mark in place of each character that shows nothing. No HTML is made of it. `bdo` draws one character
 * after the other from left to right, whatever their script, and apart from what stands before and after.
 */
export const Visible = ({ shown }: { shown: string }) => (
  <bdo dir="ltr">
    {partsOf(shown).map(({ text, isMark }, index) => (
      <Fragment key={index}>{isMark ? <mark>{text === 'U+000A' ? '↵' : text}</mark> : text}</Fragment>
    ))}
  </bdo>
)

/** A name from the service, made visible in the same way. */
export const Name = ({ text }: { text: string }) => <Visible shown={visibleText(text)} />

type FieldProps = {
  readonly messages: Messages
  readonly field: ShownField
  readonly isNew: boolean
  readonly onRead: (path: string) => void
}

/** A value that must be scrolled to its end. What fits without scrolling counts as read. */
const LongValue = ({ messages, field, onRead }: FieldProps) => {
  const box = useRef<HTMLDivElement>(null)
  const [isRead, setRead] = useState(false)
  const measure = () => {
    const { scrollTop = 0, clientHeight = 0, scrollHeight = 0 } = box.current ?? {}
    if (clientHeight === 0 || scrollTop + clientHeight < scrollHeight - 4) return
    setRead(true)
    onRead(field.path)
  }
  // After a turn of the device it may fit, and nothing can be scrolled any more.
  useEffect(() => {
    if (!box.current) return
    const observer = new ResizeObserver(measure)
    observer.observe(box.current)
    return () => observer.disconnect()
  }, [])
  return (
    <>
      <div
        class="long"
        id={`long${field.path}`}
        ref={box}
        tabIndex={0}
        role="region"
        aria-label={fillPlaceholders(messages.longValue, { label: field.label })}
        onScroll={measure}
      >
        <Visible shown={field.text} />
      </div>
      <small class={isRead ? 'read' : 'unread'}>{isRead ? messages.longDone : messages.longRead}</small>
    </>
  )
}

const kindNote = ({ kinds }: Messages, { kind, text }: ShownField): string =>
  kind === 'text' ? (text === '' ? kinds.empty : '') : kinds[kind]

const FieldValue = (props: FieldProps & { readonly isFirst?: boolean }) => {
  const { messages, field, isNew } = props
  const note = kindNote(messages, field)
  const look = props.isFirst && isHeadline(field) ? 'big' : isCode(field) ? 'id' : ''
  return (
    <dd>
      {isLong(field) ? (
        <LongValue {...props} />
      ) : field.text === '' ? null : (
        <span class={`value ${look}`}>
          <Visible shown={field.text} />
        </span>
      )}
      {note === '' ? null : <small class={field.kind === 'absent' ? 'noted' : ''}>{note}</small>}
      {field.notes.map((one) => (
        <small key={one} class="noted">
          {messages.notes[one]}
        </small>
      ))}
      {isNew ? (
        <small>
          <span class="chip warn new">{messages.new}</span>
        </small>
      ) : null}
    </dd>
  )
}

/** One field after the other, each with its label. */
export const FieldList = ({
  messages,
  fields,
  newPaths,
  onRead,
  hasHeadline = false,
}: {
  messages: Messages
  fields: readonly ShownField[]
  newPaths: readonly string[]
  onRead: (path: string) => void
  hasHeadline?: boolean
}) => (
  <>
    {fields.map((field, index) => (
      <div key={field.path}>
        <dt>
          <Visible shown={field.label} />
        </dt>
        <FieldValue
          messages={messages}
          field={field}
          isNew={newPaths.includes(field.path)}
          onRead={onRead}
          isFirst={hasHeadline && index === 0}
        />
      </div>
    ))}
  </>
)

/** The question that the person decides, by the administrator's title. */
export const decisionQuestion = (messages: Messages, view: ApprovalView): string =>
  view.title === null
    ? fillPlaceholders(messages.questionUnregistered, { type: view.type })
    : fillPlaceholders(messages.question, { title: view.title.replace(/[.?!]+$/, '') })
