import { approvalView, type Envelope, type ShownField } from '@pohf/verify/approvals'
import type { Api } from '../../shared/api/client.ts'
import { useQuery } from '../../shared/api/use-query.ts'
import { Commands, ErrorNote, Skeleton } from '../../shared/design/components.tsx'
import { CopyId } from '../../shared/design/copy-id.tsx'
import { Drawer } from '../../shared/design/drawer.tsx'
import { formatUtc } from '../../shared/design/time.ts'
import { hrefOf } from '../../shared/shell/router.ts'
import type { ApprovalDetails } from '../wire.ts'
import { approvalLabels, noteTexts } from './messages.ts'

/** What stands in place of a value that has no text. */
const emptyText = ({ kind }: ShownField): string => (kind === 'absent' ? '(not in this request)' : '(empty)')

const Fields = ({ fields, id, title }: { fields: readonly ShownField[]; id: string; title: string }) =>
  fields.length === 0 ? null : (
    <section aria-labelledby={id}>
      <h3 id={id}>{title}</h3>
      <dl class="facts shown">
        {fields.map((field) => (
          <div key={field.path}>
            <dt>
              <bdo dir="ltr">{field.label}</bdo>
            </dt>
            <dd>
              <bdo dir="ltr">{field.text === '' ? emptyText(field) : field.text}</bdo>
              {field.notes.map((note) => (
                <span key={note} class="small bad block">
                  {noteTexts[note]}
                </span>
              ))}
            </dd>
          </div>
        ))}
      </dl>
    </section>
  )

/** The action exactly as approvers see it, by the same renderer. */
const Action = ({ details }: { details: ApprovalDetails }) => {
  const view = approvalView(details.envelope as Envelope, details.definition ?? undefined)
  const words = [view.words.title, view.words.summary].filter(({ text }) => text !== '')
  return (
    <>
      {view.title === null ? (
        <p class="note warn">
          Nobody registered the type <code>{view.type}</code>: approvers saw raw fields, under the strictest
          policy.
        </p>
      ) : null}
      <Fields fields={view.critical} id="critical" title={view.title ?? 'Fields'} />
      <Fields fields={view.fields} id="other-fields" title="Further fields" />
      <Fields fields={words} id="agent-words" title="In the words of the agent" />
    </>
  )
}

const Decisions = ({ details }: { details: ApprovalDetails }) => (
  <section aria-labelledby="decisions">
    <h3 id="decisions">Decisions</h3>
    {details.decisions.length === 0 ? (
      <p class="muted">Nobody decided yet.</p>
    ) : (
      <ul class="plainlist stack">
        {details.decisions.map(({ approver, name, decision, words, decidedAt, credentialId }) => (
          <li key={approver}>
            <b>{name}</b>{' '}
            <span class={`chip ${decision === 'approve' ? 'ok' : 'stop'}`}>
              {decision === 'approve' ? 'approved' : 'denied'}
            </span>{' '}
            <span class="num">{formatUtc(decidedAt)}</span>
            {words === null ? null : <q class="block">{words}</q>}
            <span class="block small">
              {credentialId === null ? (
                <span class="muted">No credential: it was denied without a recording.</span>
              ) : (
                <a href={hrefOf(['credentials'], { credential: credentialId })}>
                  The credential<span class="hidden"> of {name}</span>
                </a>
              )}
            </span>
          </li>
        ))}
      </ul>
    )}
  </section>
)

const Terms = ({
  details: { envelope, envelopeHash, approvalId, consumableAt, ...details },
}: {
  details: ApprovalDetails
}) => {
  const { policy } = envelope
  const rows: readonly (readonly [name: string, value: string])[] = [
    ['Reference', envelope.requestId],
    ['Needed', `${policy.quorum} of ${envelope.approvers.length}`],
    ['In view at least', `${policy.minSeconds} s`],
    ['Passkey', policy.passkey === 'any' ? 'any' : 'in hardware that does not copy it'],
    ['Requested', formatUtc(details.createdAt)],
    ['Decide by', formatUtc(envelope.decideBy)],
    ...(consumableAt === null ? [] : [['Consumable from', formatUtc(consumableAt)] as const]),
    ['Consume by', formatUtc(envelope.consumeBy)],
    ...(details.consumedAt === null ? [] : [['Consumed', formatUtc(details.consumedAt)] as const]),
  ]
  return (
    <section aria-labelledby="terms">
      <h3 id="terms">Terms</h3>
      <dl class="facts">
        {rows.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd class="num address">{value}</dd>
          </div>
        ))}
        {(
          [
            ['Audience', envelope.audience],
            ['Hash of the envelope', envelopeHash],
            ['Approval', approvalId],
          ] as const
        ).map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              <CopyId value={value} label={name.toLowerCase()} />
            </dd>
          </div>
        ))}
      </dl>
    </section>
  )
}

const readCommands = (origin: string, approvalId: string): string =>
  `curl -s ${origin}/api/agents/approvals/${approvalId} \\
  -H "Authorization: Bearer $POHF_KEY"`

/** One approval: what was shown, who decided, and its terms. */
export const ApprovalDrawer = (props: { api: Api; approvalId: string; onClose: () => void }) => {
  const { api, approvalId, onClose } = props
  const address = `/api/agents/approvals/${encodeURIComponent(approvalId)}`
  const loaded = useQuery(() => api.call<ApprovalDetails>('GET', address), address)
  const details = loaded.value
  return (
    <Drawer
      title={
        <>
          {details?.envelope.type ?? 'Approval'}{' '}
          {details ? (
            <span class={`chip ${approvalLabels[details.status].tone}`}>
              {approvalLabels[details.status].word}
            </span>
          ) : null}
        </>
      }
      onClose={onClose}
    >
      {loaded.error ? <ErrorNote error={loaded.error} onRetry={loaded.refetch} /> : null}
      {details === undefined && loaded.slow ? <Skeleton /> : null}
      {details ? (
        <>
          <p class="muted">{approvalLabels[details.status].text}</p>
          <Action details={details} />
          <Decisions details={details} />
          <Terms details={details} />
          <section aria-labelledby="read-approval">
            <h3 id="read-approval">Read it from a program</h3>
            <Commands
              text={readCommands(location.origin, details.approvalId)}
              label="Command that reads the approval"
            />
          </section>
        </>
      ) : null}
    </Drawer>
  )
}
