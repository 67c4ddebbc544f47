-- An event has the server's own request id, and beside it the X-Request-ID of the client. Until now
-- `request_id` had the client's, where the client sent one.
ALTER TABLE "events" ADD COLUMN     "client_request_id" TEXT;
