import { Result } from '../result.tsx'
import type { Assignment } from '../wire.ts'
import { ClaimedTask } from './claimed-task.tsx'
import { useQuery } from '../../shared/person/use-query.tsx'
import { call } from '../api.ts'
import { fallbackView } from '../fallback.tsx'
import type { PageContext } from '../messages.ts'

export const TaskPage = ({ assignmentId, ...page }: PageContext & { assignmentId: string }) => {
  const loaded = useQuery(() => call<Assignment>('GET', `assignments/${encodeURIComponent(assignmentId)}`))
  const other = fallbackView(page, loaded)
  if (other || !loaded.value) return other
  if (loaded.value.status === 'claimed')
    return <ClaimedTask page={page} assignment={loaded.value} onChanged={loaded.set} onAgain={loaded.again} />
  return <Result page={page} assignment={loaded.value} onAgain={loaded.again} />
}
