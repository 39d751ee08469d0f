import { render } from 'preact'
import '../shared/design/pohf.css'
import { RecordingView, type Language } from './page.tsx'
import { recordingMessages } from './messages.ts'

const { searchParams } = new URL(location.href)
/** The link decides, else what the browser asks for first among those that we have. */
const language =
  [searchParams.get('lang') ?? '', ...navigator.languages]
    .map((tag) => tag.slice(0, 2).toLowerCase())
    .find((tag): tag is Language => tag in recordingMessages) ?? 'en'

const root = document.getElementById('app')
if (root) {
  document.documentElement.lang = language
  document.title = `${recordingMessages[language].title} · PoHF`
  root.replaceChildren()
  render(<RecordingView sessionId={searchParams.get('id') ?? ''} language={language} />, root)
}
