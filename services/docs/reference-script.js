// The script of the page /docs: renders the reference with Scalar. Runs in the browser.
/* global document, File, MutationObserver, requestAnimationFrame, Scalar */

const element = document.getElementById('reference')

/** A picture of one pixel, for operations that accept only pictures. */
const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPj/HwADBwIAMCbHYQAAAABJRU5ErkJggg=='

function exampleFile(name) {
  if (!name.endsWith('.png')) return new File(['This is an example file.\n'], name, { type: 'text/plain' })
  const bytes = Uint8Array.from(atob(png), (char) => char.charCodeAt(0))
  return new File([bytes], name, { type: 'image/png' })
}

/** Fixes of Scalar's elements for screen readers and keyboards: a selector, and a change of each element. */
const fixes = [
  ['button.group\\/copy-button:not([aria-label])', (button) => button.setAttribute('aria-label', 'Copy')],
  ['button[role=none]', (button) => button.removeAttribute('role')],
  ['[role=combobox]:not([aria-expanded])', (field) => field.setAttribute('aria-expanded', 'false')],
  ['ul.endpoints:not([tabindex])', (list) => list.setAttribute('tabindex', '0')],
  // A name that contains the visible text, for voice control.
  [
    'button.show-more[aria-label^="Show all"]',
    (button) => button.setAttribute('aria-label', `${button.textContent.trim()}: ${button.ariaLabel}`),
  ],
]

function fixElements() {
  for (const [selector, fix] of fixes) for (const found of document.querySelectorAll(selector)) fix(found)
}

/** Scalar renders a part of the page when the reader comes near it. */
let scheduled = false
new MutationObserver(() => {
  if (scheduled) return
  scheduled = true
  requestAnimationFrame(() => {
    scheduled = false
    fixElements()
  })
}).observe(document.body, { childList: true, subtree: true })

Scalar.createApiReference(element, {
  ...JSON.parse(element.dataset.configuration),

  /** Sends an example file until the reader selects one: until then the field holds only a name. */
  onBeforeRequest({ requestBuilder: { body } }) {
    if (body?.mode !== 'formdata') return
    body.value = body.value.map((part) =>
      part.key === 'file' && part.type === 'text'
        ? { type: 'file', key: part.key, value: exampleFile(part.value) }
        : part,
    )
  },
})
