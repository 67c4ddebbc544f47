// What a file contains: an image, a PDF or a text. A file may hold anything, so nothing of it runs or becomes
// HTML.
import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { contentOf } from '../../session.ts'
import { Problem, Skeleton, useLoaded } from '../../ui.tsx'

const maxImageBytes = 10_000_000
const maxPdfBytes = 20_000_000
const maxTextBytes = 100_000
const isImage = (type: string): boolean => /^image\/(png|jpeg|gif|webp|avif|bmp)$/.test(type)
const isText = (type: string): boolean => /^text\/|^application\/(json|xml|yaml)\b/.test(type)

/** An image, or the text as text: a file may hold anything, so nothing of it runs or becomes HTML. */
export function Preview({ file }: { file: any }) {
  const { id, name, content_type: type, bytes: size } = file
  if (isImage(type) && size <= maxImageBytes) return <Image id={id} name={name} />
  if (type === 'application/pdf' && size <= maxPdfBytes) return <Pdf id={id} name={name} />
  if (isText(type) && size > 0) return <Text id={id} isWhole={size <= maxTextBytes} />
  return null
}

function Image({ id, name }: { id: string; name: string }) {
  return <Loaded id={id}>{(url) => <img class="preview" src={url} alt={name} />}</Loaded>
}

/** The browser's viewer shows it: the type is fixed, so no content can become a page of the console. */
function Pdf({ id, name }: { id: string; name: string }) {
  return (
    <Loaded id={id} type="application/pdf">
      {(url) => <iframe class="preview" src={url} title={name} />}
    </Loaded>
  )
}

interface LoadedProps {
  id: string
  type?: string
  /** Shows the content by its address. */
  children: (url: string) => ComponentChildren
}

function Loaded({ id, type, children }: LoadedProps) {
  const loaded = useLoaded(async () => await contentOf('downloadFile', { path: { id } }), id)
  const [url, setUrl] = useState<string | null>(null)
  useEffect(() => {
    if (loaded.value === null) return
    const made = URL.createObjectURL(type === undefined ? loaded.value : new Blob([loaded.value], { type }))
    setUrl(made)
    return () => URL.revokeObjectURL(made)
  }, [loaded.value])
  if (loaded.failure !== null) return <Problem failure={loaded.failure} retry={loaded.reload} />
  return url === null ? <Skeleton /> : <>{children(url)}</>
}

function Text({ id, isWhole }: { id: string; isWhole: boolean }) {
  const headers: Record<string, string> = isWhole ? {} : { Range: `bytes=0-${maxTextBytes - 1}` }
  const loaded = useLoaded(
    async () => await (await contentOf('downloadFile', { path: { id }, headers })).text(),
    id,
  )
  if (loaded.failure !== null) return <Problem failure={loaded.failure} retry={loaded.reload} />
  if (loaded.value === null) return <Skeleton />
  return (
    <pre class="preview" tabIndex={0}>
      {loaded.value}
      {!isWhole && '\n…'}
    </pre>
  )
}
