import assert from 'node:assert/strict'
import { test } from 'node:test'
import { renderMailHtml } from './mail-html.ts'

test('the HTML of a mail says what its text says, with links that show where they lead', () => {
  const link = 'https://pohf.example/confirm?token=a_b-c&x=1'
  const html = renderMailHtml({
    subject: 'Confirm <you>',
    text: `Hello,\nopen this:\n\n${link}\n\nSee ${link}.\n\nnpx pohf webhooks recover whk_1 --since 2026`,
  })
  const shown = 'https://pohf.example/confirm?token=a_b-c&amp;x=1'
  assert.equal(html.split(`<a href="${shown}">${shown}</a>`).length, 3)
  assert.match(html, /<p>Hello,<br>\nopen this:<\/p>/)
  assert.match(html, /<\/a>\.<\/p>/)
  assert.match(html, /<code>npx pohf webhooks recover whk_1 --since 2026<\/code>/)
  assert.match(html, /<title>Confirm &lt;you&gt;<\/title>/)
})

test('text of others cannot become HTML, and nothing is loaded when the mail is opened', () => {
  const html = renderMailHtml({
    subject: '"><script>',
    text: `<img src=x onerror=alert(1)> javascript:alert(1) https://a.example/"onmouseover="x' & more`,
  })
  assert.doesNotMatch(html, /<(script|img|link|iframe|object)|url\(/)
  assert.doesNotMatch(html, /href="(?!https?:\/\/)/)
  assert.ok(
    html.includes(
      '<a href="https://a.example/">https://a.example/</a>&quot;onmouseover=&quot;x&#39; &amp; more',
    ),
  )
})
