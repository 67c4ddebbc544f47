// The script of the documentation pages: results while typing, a button that copies a block of code, and the
// language of the code that was chosen before. The pages work without it. Runs in the browser.
/* global document, addEventListener, fetch, localStorage, navigator, DOMParser, AbortController */

const field = document.querySelector('.top [name=q]')
const form = field.form
const list = document.createElement('div')
list.className = 'found'
list.hidden = true
form.append(list)

let running = new AbortController()

/** Shows the results of the page that the form leads to. */
async function showResults() {
  running.abort()
  running = new AbortController()
  const query = field.value.trim()
  list.hidden = query === ''
  if (query === '') return
  try {
    const answer = await fetch(`${form.action}?q=${encodeURIComponent(query)}`, { signal: running.signal })
    if (!answer.ok) return
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html')
    list.replaceChildren(page.querySelector('.results'))
  } catch (error) {
    if (error.name !== 'AbortError') list.hidden = true
  }
}

/** The arrow keys move between the field and the results. */
function move(event) {
  const places = [field, ...list.querySelectorAll('a')]
  const at = places.indexOf(document.activeElement)
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
  if (event.key === 'Escape') list.hidden = true
  if (step === undefined || at === -1) return
  event.preventDefault()
  places[(at + step + places.length) % places.length].focus()
}

field.addEventListener('input', showResults)
form.addEventListener('keydown', move)
form.addEventListener('focusout', (event) => {
  if (!form.contains(event.relatedTarget)) list.hidden = true
})

addEventListener('keydown', (event) => {
  const isShortcut = event.key === 'k' && (event.ctrlKey || event.metaKey)
  const isTyping = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName) || event.target.isContentEditable
  if (!isShortcut && (event.key !== '/' || isTyping)) return
  event.preventDefault()
  field.focus()
  field.select()
})

for (const block of document.querySelectorAll('main pre')) {
  const box = document.createElement('div')
  const button = document.createElement('button')
  box.className = `copied ${block.className}`
  block.className = ''
  button.type = 'button'
  button.textContent = 'Copy'
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(block.textContent)
    button.textContent = 'Copied'
  })
  block.replaceWith(box)
  box.append(block, button)
}

const languageKey = 'docs-language'
const languages = document.querySelectorAll('.languages input')
for (const choice of languages) {
  if (choice.id === localStorage.getItem(languageKey)) choice.checked = true
  choice.addEventListener('change', () => localStorage.setItem(languageKey, choice.id))
}
