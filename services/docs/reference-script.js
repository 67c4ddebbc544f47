// The script of the page /docs: renders the reference with Scalar. Runs in the browser.
/* global document, File, Scalar */

const element = document.getElementById('reference')

/** A picture of one pixel, for operations that accept only pictures. */
const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPj/HwADBwIAMCbHYQAAAABJRU5ErkJggg=='

function exampleFile(name) {
  if (!name.endsWith('.png')) return new File(['This is an example file.\n'], name, { type: 'text/plain' })
  const bytes = Uint8Array.from(atob(png), (char) => char.charCodeAt(0))
  return new File([bytes], name, { type: 'image/png' })
}

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
