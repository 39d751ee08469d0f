import { approvalView, envelopeHash, viewHash, type Envelope } from '@pohf/verify/approvals'
import { Title } from '../../shared/person/parts.tsx'
import { useQuery } from '../../shared/person/use-query.tsx'
import { approvalPath, call } from '../api.ts'
import { fallbackView } from '../fallback.tsx'
import { shortHash } from '../format.ts'
import type { PageContext } from '../messages.ts'
import type { Approval } from '../wire.ts'
import { CompanySignIn } from './company.tsx'
import { Outcome } from './outcome.tsx'
import { PendingApproval, type CheckedApproval } from './pending.tsx'

type LoadedApproval =
  | CheckedApproval
  | { readonly approval: Approval; readonly altered: { readonly ours: string; readonly theirs: string } }

/** Fetches an approval and computes here what a decision would cover. Nothing is shown of one that does not match its hash. */
const loadApproval = async (approvalId: string): Promise<LoadedApproval> => {
  const approval = await call<Approval>('GET', approvalPath(approvalId))
  const envelope = approval.envelope as Envelope
  const ours = await envelopeHash(envelope)
  if (ours !== approval.envelopeHash) return { approval, altered: { ours, theirs: approval.envelopeHash } }
  const view = approvalView(envelope, approval.definition ?? undefined)
  return { approval, view, viewHash: await viewHash(view) }
}

export const ApprovalPage = ({ approvalId, ...page }: PageContext & { approvalId: string }) => {
  const { messages } = page
  const loaded = useQuery(() => loadApproval(approvalId))
  const { failed, slow, again } = loaded
  // A request is loaded again when it has changed: where that failed, what is known of it may not be decided any more.
  const other = fallbackView(page, failed ? { failed, slow, again } : loaded)
  if (other || !loaded.value) return other
  if ('altered' in loaded.value) {
    const { ours, theirs } = loaded.value.altered
    return (
      <article>
        <Title text={messages.altered.title} />
        <p class="note stop" role="alert">
          {messages.altered.lead}
        </p>
        <dl class="facts card pad">
          {[
            [messages.altered.theirs, theirs],
            [messages.altered.ours, ours],
          ].map(([label, hash = '']) => (
            <div key={label}>
              <dt>{label}</dt>
              <dd>
                <span class="id">{shortHash(hash)}</span>
              </dd>
            </div>
          ))}
        </dl>
      </article>
    )
  }
  const { approval } = loaded.value
  const { company } = approval
  const isOpen = approval.status === 'pending' && approval.ownDecision === null
  const props = { ...loaded.value, page, onChanged: again }
  if (isOpen && company && company.state !== 'valid') return <CompanySignIn page={page} company={company} />
  return isOpen ? <PendingApproval {...props} /> : <Outcome {...props} />
}
