import { render } from 'preact'
import { SessionPage } from './page.tsx'

const root = document.getElementById('app')
const sessionId = new URL(location.href).searchParams.get('id') ?? ''
if (root) render(<SessionPage sessionId={sessionId} />, root)
