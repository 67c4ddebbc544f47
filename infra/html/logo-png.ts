// The logo of the installation as a PNG, for what shows no SVG: e-mails and PDF.
import { Lazy } from '../concurrency/lazy.ts'
import { decodingSvg } from '../sharp.ts'
import { brand, type Brand } from './brand.ts'

/** In pixels, for screens of twice the density. */
const maxSize = { width: 480, height: 96 }

const made = new WeakMap<Brand, Lazy<Buffer | null>>()

/** @returns null without a logo. */
export async function logoPng(): Promise<Buffer | null> {
  const current = brand()
  let png = made.get(current)
  if (png === undefined) made.set(current, (png = new Lazy(async () => await pngOf(current))))
  return await png.get()
}

async function pngOf({ logo }: Brand): Promise<Buffer | null> {
  if (logo === null) return null
  return await decodingSvg(
    async (sharp) =>
      await sharp(logo.bytes, { density: 300 })
        .resize({ ...maxSize, fit: 'inside' })
        .png()
        .toBuffer(),
  )
}
