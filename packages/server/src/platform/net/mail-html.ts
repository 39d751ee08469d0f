const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}
/** Text as HTML shows it. */
export const escapeHtml = (text: string): string =>
  text.replaceAll(/[&<>"']/g, (sign) => entities[sign] ?? '')

const addressPattern = /https?:\/\/[^\s<>"']+[^\s<>"'.,;:)]/g

/** Addresses become links that show themselves, so that a reader sees where each leads. */
const withLinks = (line: string): string => {
  let end = 0
  let html = ''
  for (const { 0: address, index } of line.matchAll(addressPattern)) {
    const shown = escapeHtml(address)
    html += `${escapeHtml(line.slice(end, index))}<a href="${shown}">${shown}</a>`
    end = index + address.length
  }
  return html + escapeHtml(line.slice(end))
}

/** A line that is a command to type. */
const isCommand = (line: string): boolean => /^(npx|pohf|curl) /.test(line)

const paragraphOf = (lines: readonly string[]): string =>
  `<p>${lines.map((line) => (isCommand(line) ? `<code>${escapeHtml(line)}</code>` : withLinks(line))).join('<br>\n')}</p>`

/**
 * Renders the HTML of a mail from its text, word for word: paragraphs and links, without images, scripts and addresses of
 * third parties, so that opening the mail sends no request.
 */
export const renderMailHtml = ({
  subject,
  text,
}: {
  readonly subject: string
  readonly text: string
}): string => {
  const paragraphs = text
    .trim()
    .split(/\n{2,}/)
    .map((paragraph) => paragraphOf(paragraph.split('\n')))
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>${escapeHtml(subject)}</title></head>
<body style="margin:0;padding:24px;font:16px/1.5 system-ui,sans-serif;color:#1a1a1a;background:#ffffff">
<div style="max-width:36em;margin:0 auto;overflow-wrap:anywhere">
<h1 style="font-size:20px;line-height:1.3">${escapeHtml(subject)}</h1>
${paragraphs.join('\n')}
</div>
</body>
</html>
`
}
