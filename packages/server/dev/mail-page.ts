import { escapeHtml } from '../src/platform/net/mail-html.ts'
import type { CaughtMail } from './mail-catcher.ts'

/** The mail as its reader sees it. In a sandbox without scripts; links open in a new tab. */
const frameOf = ({ html, subject }: CaughtMail): string =>
  html === ''
    ? ''
    : `<iframe title="${escapeHtml(subject)}" sandbox="allow-popups allow-popups-to-escape-sandbox"
  srcdoc="${escapeHtml(html.replace('<head>', '<head><base target="_blank">'))}"></iframe>`

const articleOf = (mail: CaughtMail, index: number): string => `<article>
<h2>${escapeHtml(mail.subject)}</h2>
<p>To: ${escapeHtml(mail.to.join(', '))}<br>
From: ${escapeHtml(mail.from)}<br>
<time>${escapeHtml(mail.at)}</time></p>
${frameOf(mail)}
<details${index === 0 && mail.html === '' ? ' open' : ''}><summary>Plain text</summary><pre>${escapeHtml(mail.text)}</pre></details>
<details><summary>Source</summary><pre>${escapeHtml(mail.raw)}</pre></details>
</article>`

/** The page of the mail catcher, newest mail first. */
export const mailPage = (mails: readonly CaughtMail[]): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Mails of this machine</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 50em; margin: 0 auto; padding: 1em; color-scheme: light dark }
article { border: 1px solid; border-radius: 8px; padding: 0 1em 1em; margin: 1em 0 }
iframe { width: 100%; height: 22em; border: 0; background: #fff; border-radius: 4px }
pre { overflow-x: auto; white-space: pre-wrap; overflow-wrap: anywhere }
</style>
</head>
<body>
<h1>Mails</h1>
<p>What the service on this machine sent. Nothing leaves the machine. Reload for new ones; <a href="/mails.json">as JSON</a>.</p>
${mails.length === 0 ? '<p>No mail yet.</p>' : mails.toReversed().map(articleOf).join('\n')}
</body>
</html>
`
