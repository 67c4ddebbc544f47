-- With files in S3, the bytes of an unfinished upload are in the parts of a multipart upload. NULL for an
-- upload whose bytes are on the disk of a server.
ALTER TABLE "uploads" ADD COLUMN "multipart" JSONB;
