// Sends the token of the mailed link when the person clicks, and shows what came of it.
const form = document.querySelector('form.token')
const result = document.querySelector('.result')
form.addEventListener('submit', (event) => {
  event.preventDefault()
  void act()
})

async function act() {
  const button = form.querySelector('button')
  button.disabled = true
  result.textContent = 'One moment…'
  try {
    const response = await fetch(form.dataset.action, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ token: form.dataset.token }),
    })
    const body = await response.json()
    if (!response.ok) result.textContent = `${body.message} (request ${body.requestId})`
    else if (body.apiKey) result.textContent = `Your new key, shown once. Copy it now: ${body.apiKey}`
    else result.textContent = `Confirmed. Agent ${body.agentId} is ready.`
    form.hidden = response.ok
  } catch {
    result.textContent = 'The service did not answer. Check your connection and try again.'
  }
  button.disabled = false
}
