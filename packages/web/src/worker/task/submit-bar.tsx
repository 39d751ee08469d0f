import type { Assignment } from '../wire.ts'
import { TimeLeft } from './time-left.tsx'
import type { Progress } from './use-recording.ts'
import { fillPlaceholders } from '../../shared/design/fill-placeholders.ts'
import type { Messages } from '../messages.ts'

/** The latest six: an hour of work has about fifty. A missed question is never green. */
const dotsMax = 6
const dotsOf = ({ done, of, hits }: Progress): string[] =>
  Array.from({ length: of }, (_, index) => (index < hits ? 'full' : index < done ? 'missed' : '')).slice(
    -dotsMax,
  )

export const SubmitBar = ({
  messages,
  assignment,
  progress,
  notice,
  onSubmit,
  onOver,
}: {
  messages: Messages
  assignment: Assignment
  progress: Progress
  notice: string
  onSubmit: () => void
  onOver: () => void
}) => (
  <div class="act bar-foot">
    <p class={notice === '' ? 'hidden' : 'said-small'} role="status">
      {notice}
    </p>
    <p class="between small">
      <span class="dots" aria-hidden="true">
        {dotsOf(progress).map((kind, index) => (
          <i key={index} class={kind} />
        ))}
      </span>
      <span>
        {progress.done >= progress.of
          ? messages.task.questionsDone
          : fillPlaceholders(messages.task.questions, { done: progress.done, of: progress.of })}
      </span>
      <TimeLeft messages={messages} dueAt={assignment.dueAt} onOver={onOver} />
    </p>
    <button type="button" class="btn main wide" onClick={onSubmit}>
      {messages.task.handIn}
    </button>
  </div>
)
