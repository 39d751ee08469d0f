import { useState } from 'preact/hooks'
import { AnswerForm } from './answer-form.tsx'
import { readDraft } from '../draft.ts'
import { answerFromValues } from '../fields.ts'
import { countText, starsText } from '../format.ts'
import { Submission } from './submission.tsx'
import { TaskInput } from './task-input.tsx'
import type { Assignment } from '../wire.ts'
import { Instructions, Steps, TaskBrief } from './brief.tsx'
import { ReportTask } from './report-task.tsx'
import { ReturnTask } from './return-task.tsx'
import { SubmitBar } from './submit-bar.tsx'
import { TimeLeft } from './time-left.tsx'
import { useAnswer, type Answer } from './use-answer.ts'
import { useRecording, type Recording } from './use-recording.ts'
import { fillPlaceholders } from '../../shared/design/fill-placeholders.ts'
import { Title } from '../../shared/person/parts.tsx'
import type { Messages, PageContext } from '../messages.ts'

type ClaimedTaskProps = {
  readonly page: PageContext
  readonly assignment: Assignment
  readonly onChanged: (next: Assignment) => void
  readonly onAgain: () => void
}
type PartProps = Omit<ClaimedTaskProps, 'onChanged'> & {
  readonly recording: Recording
  readonly answer: Answer
}

/** The ways out without an answer. */
const Return = ({ page: { messages }, assignment, recording, onAgain }: PartProps) => {
  const leave = () => {
    recording.stop()
    onAgain()
  }
  return (
    <>
      <div>
        <ReturnTask messages={messages} assignment={assignment} onReturned={leave} />
      </div>
      <ReportTask messages={messages} assignment={assignment} onReported={leave} />
    </>
  )
}

/** Before the recording runs. */
const Preparation = (props: PartProps) => {
  const { page, assignment, recording } = props
  const { messages } = page
  const isOpening = recording.phase === 'opening'
  return (
    <>
      <Title text={assignment.title} />
      <TaskBrief
        page={page}
        assignment={assignment}
        busy={isOpening}
        ended={recording.ended}
        hasDraft={Object.keys(props.answer.values).length > 0}
        onBegin={recording.begin}
      />
      <Return {...props} />
      <div class="act">
        <p class="small muted num">
          <TimeLeft messages={messages} dueAt={assignment.dueAt} onOver={props.onAgain} />
        </p>
        <button
          type="button"
          class="btn main wide"
          disabled={isOpening}
          onClick={() => recording.begin(false)}
        >
          {isOpening ? messages.task.opening : messages.task.begin}
        </button>
      </div>
    </>
  )
}

const QuestionNote = ({ messages, recording }: { messages: Messages; recording: Recording }) => (
  <div class="small muted">
    <p>{messages.task.questionsWhy}</p>
    {recording.usesWords ? null : (
      <button type="button" class="btn quiet" onClick={recording.switchToWords}>
        {messages.task.switchToWords}
      </button>
    )}
  </div>
)

/** While the recording runs: the input, the answer form and the way to submit. */
const Work = (props: PartProps & { readonly notice: string; readonly onSubmit: () => void }) => {
  const { page, assignment, recording, answer } = props
  const { messages } = page
  return (
    <>
      <Title key="working" text={assignment.title} />
      <p class="muted num">
        {fillPlaceholders(messages.task.pay, { stars: starsText(messages, assignment.rewardStars) })}
      </p>
      {recording.lost ? (
        <p class="note warn" role="alert">
          {messages.task.lost}
        </p>
      ) : null}
      <details class="card fold">
        <summary>{messages.task.steps}</summary>
        <Steps assignment={assignment} />
      </details>
      <Instructions messages={messages} assignment={assignment} />
      <TaskInput messages={messages} assignment={assignment} />
      <AnswerForm
        messages={messages}
        form={assignment.answerForm}
        values={answer.values}
        faults={answer.faults}
        onValues={answer.change}
      />
      {recording.isDone ? null : <QuestionNote messages={messages} recording={recording} />}
      <Return {...props} />
      <SubmitBar
        messages={messages}
        assignment={assignment}
        progress={recording.progress}
        notice={props.notice}
        onSubmit={props.onSubmit}
        onOver={props.onAgain}
      />
    </>
  )
}

/** One claimed unit, from the briefing to the submission. */
export const ClaimedTask = ({ page, assignment, onChanged, onAgain }: ClaimedTaskProps) => {
  const { messages } = page
  const [draft] = useState(() => readDraft(assignment.assignmentId))
  const recording = useRecording(assignment, messages, draft.sessionId !== undefined)
  const answer = useAnswer(assignment, draft.values)
  const [notice, setNotice] = useState('')
  const submit = () => {
    const invalid = answer.validate()
    if (invalid > 0)
      return setNotice(countText(invalid, messages.task.missingSomeOne, messages.task.missingSome))
    if (!recording.isDone) setNotice(messages.task.waitsForQuestions)
    recording.submit()
  }
  if (recording.phase === 'submitting')
    return (
      <Submission
        messages={messages}
        assignmentId={assignment.assignmentId}
        sessionId={draft.sessionId}
        finish={recording.finish}
        values={answer.values}
        answer={answerFromValues(assignment.answerForm, answer.values)}
        onDone={onChanged}
        onAgain={onAgain}
        onLost={recording.end}
      />
    )
  const parts = { page, assignment, onAgain, recording, answer }
  return recording.phase === 'working' ? (
    <Work {...parts} notice={notice} onSubmit={submit} />
  ) : (
    <Preparation {...parts} />
  )
}
