import { serveThread } from '../../platform/queue/thread.ts'
import { scoreRecording } from './score-recording.ts'

serveThread(scoreRecording)
