import { Result } from '../result.tsx'
import type { Assignment } from '../wire.ts'
import { ClaimedTask } from './claimed-task.tsx'
import { RefreshFailure } from '../../shared/person/parts.tsx'
import { useQuery } from '../../shared/person/use-query.tsx'
import { call } from '../api.ts'
import { fallbackView } from '../fallback.tsx'
import type { PageContext } from '../messages.ts'

export const TaskPage = ({ assignmentId, ...page }: PageContext & { assignmentId: string }) => {
  const loaded = useQuery(() => call<Assignment>('GET', `assignments/${encodeURIComponent(assignmentId)}`))
  const other = fallbackView(page, loaded)
  if (other || !loaded.value) return other
  const parts = { page, assignment: loaded.value, onAgain: loaded.again }
  return (
    <>
      <RefreshFailure messages={page.messages} loaded={loaded} />
      {loaded.value.status === 'claimed' ? (
        <ClaimedTask {...parts} onChanged={loaded.set} />
      ) : (
        <Result {...parts} />
      )}
    </>
  )
}
