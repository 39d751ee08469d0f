import { render } from 'preact'
import '../shared/design/pohf.css'
import './verify.css'
import { VerifyPage } from './page.tsx'

const root = document.getElementById('app')
const issuer = document.querySelector<HTMLMetaElement>('meta[name="pohf-issuer"]')?.content
if (root && issuer !== undefined) {
  root.replaceChildren()
  render(<VerifyPage issuer={issuer} />, root)
}
