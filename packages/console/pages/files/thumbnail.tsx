// Thumbnails: pictures that the server scales. They are loaded when they come into view, a few at a time.
import { useEffect, useRef, useState } from 'preact/hooks'
import { contentOf, isAllowed } from '../../session.ts'
import { Icon, iconOf } from './icons.tsx'

const maxKept = 300
const maxAtOnce = 4
const maxImageBytes = 50 * 1024 * 1024

/** Addresses of pictures by the content of their files, the oldest first. */
const kept = new Map<string, Promise<string | null>>()
const queue: Array<() => Promise<void>> = []
let running = 0

function next(): void {
  const work = running < maxAtOnce ? queue.shift() : undefined
  if (work === undefined) return
  running++
  void work().finally(() => {
    running--
    next()
  })
}

function pictureOf({ id, sha256 }: any): Promise<string | null> {
  const known = kept.get(sha256)
  if (known !== undefined) return known
  const query = { width: 256, height: 192, fit: 'cover' }
  const loading = new Promise<string | null>((resolve) => {
    queue.push(async () => {
      // A file that is no picture, whatever its type says, has an icon.
      const blob = await contentOf('getFileImage', { path: { id }, query }).catch(() => null)
      if (blob === null) kept.delete(sha256)
      resolve(blob === null ? null : URL.createObjectURL(blob))
    })
  })
  kept.set(sha256, loading)
  if (kept.size > maxKept) {
    const [oldest, address] = kept.entries().next().value!
    kept.delete(oldest)
    void address.then((url) => url !== null && URL.revokeObjectURL(url))
  }
  next()
  return loading
}

const hasPicture = ({ content_type: type, bytes }: any): boolean =>
  /^image\/(png|jpeg|webp|gif|avif)$/.test(type) && bytes <= maxImageBytes && isAllowed('getFileImage')

export function Thumbnail({ kind, data }: { kind: 'folder' | 'file'; data: any }) {
  const box = useRef<HTMLSpanElement>(null)
  const [url, setUrl] = useState<string | null>(null)
  const shows = kind === 'file' && hasPicture(data)
  useEffect(() => {
    setUrl(null)
    if (!shows) return
    let isCurrent = true
    const observer = new IntersectionObserver(([{ isIntersecting }]) => {
      if (!isIntersecting) return
      observer.disconnect()
      void pictureOf(data).then((found) => isCurrent && setUrl(found))
    })
    observer.observe(box.current!)
    return () => {
      isCurrent = false
      observer.disconnect()
    }
  }, [data.id, data.sha256])
  return (
    <span class="thumbnail" ref={box}>
      {url === null ? <Icon name={iconOf(kind, data.content_type ?? '')} /> : <img src={url} alt="" />}
    </span>
  )
}
