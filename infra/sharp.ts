// sharp, which decodes and encodes pictures. Its settings are global to the process: it decodes the formats
// of users' pictures only.
import type Sharp from 'sharp'

let loading: Promise<typeof Sharp> | undefined

/** Loads sharp on first use, because loading is slow. */
export async function loadSharp(): Promise<typeof Sharp> {
  return await (loading ??= load())
}

async function load(): Promise<typeof Sharp> {
  const { default: sharp } = await import('sharp')
  sharp.cache(false)
  sharp.concurrency(1)
  // All other decoders of libvips, such as SVG and TIFF, are blocked.
  sharp.block({ operation: ['VipsForeignLoad'] })
  sharp.unblock({
    operation: ['Jpeg', 'Png', 'Webp', 'Nsgif', 'Heif'].map((format) => `VipsForeignLoad${format}Buffer`),
  })
  return sharp
}

const svg = { operation: ['VipsForeignLoadSvgBuffer'] }

/** Decodes SVG during `work`: for pictures of the operator. */
export async function decodingSvg<T>(work: (sharp: typeof Sharp) => Promise<T>): Promise<T> {
  const sharp = await loadSharp()
  sharp.unblock(svg)
  try {
    return await work(sharp)
  } finally {
    sharp.block(svg)
  }
}
