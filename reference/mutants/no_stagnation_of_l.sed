# file: reference/finish_split.cpp
# small summands of l round independently
s/kLambda \* chance + alike);/kLambda * chance + 0 * alike);/
