import {
  openRecording,
  type OpenedRecording,
  type RecordingPage,
} from '../../../web/src/shared/replay/open.ts'

type Session = { readonly sessionId: string; readonly status: string; readonly quality: number | null }
export type OpenedSession = OpenedRecording & { readonly session: Session }

const load = async <T>(path: string): Promise<T> => {
  const response = await fetch(path)
  const json = (await response.json()) as { message?: string }
  if (!response.ok) throw new Error(json.message ?? 'The service did not answer.')
  return json as T
}

/** Loads a whole session through the site, which has the key, and opens it here in the browser. */
export const openSession = async (sessionId: string): Promise<OpenedSession> => {
  const id = encodeURIComponent(sessionId)
  const session = await load<Session>(`/session.json?id=${id}`)
  if (session.status === 'open' || session.status === 'expired')
    throw new Error('It was not finished, so there is nothing to open. Nothing of it is ever counted.')
  const opened = await openRecording((from) => load<RecordingPage>(`/chunks.json?id=${id}&from=${from}`))
  if (!opened) throw new Error('The recording is gone: it is kept for 30 days. Its hashes stay.')
  return { session, ...opened }
}
